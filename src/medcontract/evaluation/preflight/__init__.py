"""Runs every check of a submission before it is handed in."""

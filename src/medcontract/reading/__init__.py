"""Reads bytes as records with positions, independently of tracks and contracts."""

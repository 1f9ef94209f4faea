"""Repairs of files, limited to mistakes that have exactly one right repair."""

"""Bytes to located records. Nothing here knows a track or a contract."""

"""Data to text. Nothing here prints, reads a file or exits."""

"""Custom contracts and problem codes: loaded from modules or installed packages, checked, and registered."""

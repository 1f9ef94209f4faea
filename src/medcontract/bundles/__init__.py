"""Bundles for challenge platforms: what an organizer uploads, so that the platform scores with medcontract.

`medcontract.platforms` is what runs on the platform.
"""

"""One Struct per result: the API returns it, `--format json` prints it, the published schema is derived from it."""

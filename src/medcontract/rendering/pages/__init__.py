"""Pages of results: one function per kind makes its `Page`, for text, Markdown and HTML alike."""

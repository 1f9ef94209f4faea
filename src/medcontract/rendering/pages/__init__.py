"""What each kind of result says: one function a kind makes its `Page`, for text, Markdown and HTML alike."""

"""Results as a person reads them in a terminal, like a good compiler's."""

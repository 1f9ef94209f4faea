"""Published JSON Schemas: derived from the models, exported, checked, compared."""

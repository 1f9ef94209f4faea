"""The contracts: models, rules, recognition, published schemas."""

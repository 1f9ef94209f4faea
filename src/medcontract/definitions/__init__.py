"""What each file may hold: models, rules, recognition, published schemas."""

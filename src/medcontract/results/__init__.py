"""One model per result: what the API returns, what the JSON output holds, what the published schema says."""

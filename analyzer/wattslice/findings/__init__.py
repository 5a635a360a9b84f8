"""What a report tells beyond figures: rules, advice, suppressions."""

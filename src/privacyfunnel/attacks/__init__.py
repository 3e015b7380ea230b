"""What attackers learn from released rows, exactly and by learning."""

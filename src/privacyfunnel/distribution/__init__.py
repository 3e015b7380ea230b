"""What is known of the people: columns of finite values, and the joint distribution of secret and attributes."""

"""What is known of networks, whichever files it was read from: recordings, mapped recordings and predictions."""

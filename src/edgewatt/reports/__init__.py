"""What a person sees: tables in the terminal."""

"""What `quality.py` is made of: lives to play, ways to ask, answers to score."""

"""What a worker model is asked, and which parts of its answers are believed."""

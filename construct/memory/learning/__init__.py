"""What a worker model is asked, and what of its answer is believed."""

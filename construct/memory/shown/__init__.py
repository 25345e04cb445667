"""What models are shown: lines, transcripts, the window, the request of a turn."""

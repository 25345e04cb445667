"""What is remembered, to look at: status, history, traces, figures."""

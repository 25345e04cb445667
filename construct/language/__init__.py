"""Reading text: words, stems, terms, negations, dates, sentences, facts. No I/O."""

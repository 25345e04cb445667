"""Reading words: tokens, stems, terms, dates, sentences. No I/O."""

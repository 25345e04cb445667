"""Several machines in step, through encrypted files in a folder that something else carries.

A machine's log says, for rows by uid, which field it set to which value and when. Of two
values the later one counts. `tables.py` says what is in step, `changes.py` finds what
changed here, `taking.py` takes in what changed elsewhere, `outcome.py` decides which
cycles stand, `folder.py` reads and writes the files.
"""

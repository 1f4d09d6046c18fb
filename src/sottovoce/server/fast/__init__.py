"""What makes the server fast at the cost of simplicity. Any of it could be removed without changing anything else.

Each part says what it gains. `bench/fast_path.py` measures it: the same reports of 30 readings, 200 clients at once, to
a server with the part and to one without it, alternately. The gains are medians over the rounds, in reports per second,
in two to eight runs on a machine with other work. What gains less than 5 % is removed: reading PostgreSQL by binary
COPY was here, and took twice as long as fetching rows.
"""

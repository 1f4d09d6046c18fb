"""What makes the server fast at the cost of simplicity. Any part could be removed without changing anything else.

Each part states its gain, which `bench/fast_path.py` measures: 200 clients at once send the same reports of 30 readings
to a server with the part and to one without it, alternately. The gains are medians over the rounds, in reports per
second, in two to eight runs on a machine with other work. A part that gains less than 5 % is removed: reading
PostgreSQL by binary COPY was one, and took twice as long as fetching rows.
"""

"""The studio: the way from a log to a published release, in a browser on this machine.

It is a face of the library as the command line is: it parses, calls one function, and shows.

Two kinds of processes take part. The server (`server`, `guard`, `app`, `screens`) answers on the
loopback address and keeps the cases in memory. A worker (`work`) does one task after another.
Texts of a log are only ever in workers, and what they hand to the server is counted, masked or
released. A server that is killed closes the pipes of its workers, which then end as if they were
interrupted. So the disk holds what the command line would leave there.

Pages are made on the server and work without a script. `static/studio.js` adds a slider and
progress that moves.
"""

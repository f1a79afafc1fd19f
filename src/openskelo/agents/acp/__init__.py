"""The Agent Client Protocol (ACP): how OpenSkelo speaks with the program of a coding agent.

    process       the program under way: pipes for the protocol, its stderr in a file, its process group
    acp_client    JSON-RPC over these pipes: a prompt goes in, a `Turn` comes out; questions go to a listener
    transcript    the lines of a turn as they may be kept, with secrets masked across lines

ACP is the one protocol that all supported agents speak, some through an adapter. So the rest of `agents` knows no
vendor: what differs is in `agents/profiles`. An agent is a program that we do not trust and cannot change. It may send
messages that this client does not know, or lines that are no messages at all, and neither may break a turn.
"""

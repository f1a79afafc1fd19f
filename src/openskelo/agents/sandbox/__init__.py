"""The sandbox: the limit on which files and addresses an agent's program can reach, enforced by the system.

    sandbox           chooses a kind that works on this machine, and confines a command with it
    sandbox_access    what a program may reach, and the command that starts it confined
    bubblewrap        namespaces in which only the listed files exist and there is no network
    landlock          rules of the Linux kernel on files and ports, where bubblewrap does not work
    inside_sandbox    our small program inside: relays sockets, applies Landlock, calls the hook
    egress_proxy      the HTTP proxy outside of the sandbox, for the hosts that the project names
    network_hosts     that list of hosts, as patterns
    program_paths     the files that a program needs to start at all

A program starts with nothing and gets what an `Access` lists. Its own server and its model are reached over unix
sockets that are mounted into the sandbox, so it needs no network. A kind is tried once by running it, because whether
it works depends on the kernel, the container and the user, and cannot be read off a version number.
"""

"""Connections to a port of this machine go on to another one with TLS: tunnel.py PORT TARGET CA"""

import asyncio
import ssl
import sys


async def pass_on(reader, writer):
    """Until either side ends."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, ssl.SSLError):
        pass
    writer.close()


async def main(port, target, ca):
    context = ssl.create_default_context(cafile=ca)

    async def connected(reader, writer):
        far = await asyncio.open_connection("127.0.0.1", target, ssl=context)
        await asyncio.gather(pass_on(reader, far[1]), pass_on(far[0], writer))

    async with await asyncio.start_server(connected, "127.0.0.1", port) as server:
        await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))

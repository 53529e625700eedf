"""A line of a fixed speed to a server on loopback, for measurements: bytes of the server's answers wait for their turn."""
import socket
import threading
import time


class SlowLine:
    """Takes connections on `port`, and passes them on to the server. All answers together have `speed` bytes a second."""

    chunk = 32 * 1024

    def __init__(self, server_port, speed):
        self.server_port, self.speed = server_port, speed
        self.lock, self.free_at = threading.Lock(), 0.0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:  # the line is closed
                return
            server = socket.create_connection(("127.0.0.1", self.server_port))
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.carry, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.carry, args=(server, client, True), daemon=True).start()

    def await_turn(self, count):
        """Waits until `count` bytes have gone over the line."""
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + count / self.speed
            pause = self.free_at - time.monotonic()
        if pause > 0:
            time.sleep(pause)

    def carry(self, source, target, is_slow):
        try:
            while data := source.recv(self.chunk):
                if is_slow:
                    self.await_turn(len(data))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:  # one of the two has gone, and so do both
            source.close()
            target.close()

    def close(self):
        self.listener.close()

import LibPQ

extension Connection {
    /// Loads libpq, which otherwise happens with the first connection string or connection.
    ///
    /// For a program that is going to connect, before it starts threads: the kernel maps 25 libraries twice as fast
    /// while no other thread shares the address space.
    ///
    /// Returns why it cannot be loaded; nil on success.
    package static func loadLibrary() -> String? {
        Library.load()
    }
}

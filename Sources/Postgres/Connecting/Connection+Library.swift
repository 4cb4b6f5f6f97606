import LibPQ

extension Connection {
    /// Loads what connections are made with, which the first connection string or connection would do as well.
    ///
    /// For a program that is going to connect, before it starts threads: the kernel maps 25 libraries twice as fast
    /// where nobody else runs in the same memory.
    ///
    /// Returns why that cannot be; nil when it is there.
    package static func loadLibrary() -> String? {
        Library.load()
    }
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Occupies those that whoever started the process has closed.
    ///
    /// Otherwise the next thing to be opened has the number, such as the connection to the database, and is written to
    /// as standard output. What stands there now is opened for the other direction, so that using it fails as a closed
    /// descriptor does.
    static func occupy() {
        for (number, mode) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] as [(Int32, Int32)] {
            // `open` takes the lowest free number: this one, as those below it are open by now.
            if fcntl(number, F_GETFD) == -1, errno == EBADF { _ = open("/dev/null", mode) }
        }
    }
}

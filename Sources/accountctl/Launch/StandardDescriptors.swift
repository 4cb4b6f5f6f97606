#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The file descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Opens `/dev/null` on each of these descriptors that the parent process has closed.
    ///
    /// Otherwise the next open file would get the number: output would go to the database connection, for example.
    /// `/dev/null` is opened for the opposite direction, so that reading or writing fails as on a closed descriptor.
    static func occupy() {
        for (number, mode) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] as [(Int32, Int32)] {
            // `open` takes the lowest free number, which is this one: those below it are open by now.
            if fcntl(number, F_GETFD) == -1, errno == EBADF { _ = open("/dev/null", mode) }
        }
    }
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension CommandError {
    /// That a file cannot be written, for the reason that the system has just given.
    static func cannotWrite(_ path: String) -> CommandError {
        CommandError(.failure, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension CommandError {
    /// The error for a file that cannot be written, with the reason in `errno`.
    static func cannotWrite(_ path: String) -> CommandError {
        CommandError(.failure, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}

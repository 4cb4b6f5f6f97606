import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Pipe {
    /// A pipe that only the process has that is given an end of it: another one, started at the same time, would keep
    /// the end from being seen.
    static func closedOnExec() -> Pipe {
        let pipe = Pipe()
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        return pipe
    }
}

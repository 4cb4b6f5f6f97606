import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Pipe {
    /// A pipe whose ends are closed on exec, so that only a process that is given one has it.
    ///
    /// Another process that is started at the same time would inherit them, and keep the stream from ending.
    static func closedOnExec() -> Pipe {
        let pipe = Pipe()
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        return pipe
    }
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs `body` on a new thread, which nobody waits for and which lets go of `body` at its end.
///
/// - Throws: ``EventThreadError`` when there is no thread to be had; `body` does not run then.
package func startDetachedThread(_ body: @escaping @Sendable () -> Void) throws(EventThreadError) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let context = Unmanaged.passRetained(ThreadBody(body))
    #if canImport(Glibc)
        var thread = pthread_t()
    #else
        var thread: pthread_t?
    #endif
    let result = pthread_create(&thread, &attributes, runThreadBody, context.toOpaque())
    guard result == 0 else {
        context.release()
        throw EventThreadError(call: "pthread_create", number: result)
    }
}

/// What a thread's entry is handed: a closure in the shape of one address.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// The entry of every such thread: a file-level function, since a closure made in a main-actor context would trap here.
private func runThreadBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs `body` on a new detached thread, which releases `body` when it ends.
///
/// - Throws: ``EventThreadError`` if no thread can be created; `body` does not run then.
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

/// The argument of a thread's entry function: a closure behind one address.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// The entry function of every such thread: a file-level function, because a closure created in a main-actor context
/// would trap here.
private func runThreadBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

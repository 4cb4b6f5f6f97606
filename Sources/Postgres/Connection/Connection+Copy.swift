import EventThread
import LibPQ

extension Connection {
    /// Loads rows by `copy … from stdin`, the fastest way in.
    ///
    /// ```swift
    /// try connection.copyIn("copy users (id, name) from stdin") { rows in
    ///     for user in users { try rows.append(user.id, user.name) }
    /// }
    /// ```
    ///
    /// All rows or none: when `body` throws, the server drops what it has.
    ///
    /// - Returns: How many rows went in.
    /// - Throws: What `body` throws; ``PostgresError`` as any statement does, telling the row by `context` in its diagnostics.
    @discardableResult
    package func copyIn(
        _ statement: Statement,
        deadline: Duration? = nil,
        _ body: (inout CopyWriter) throws -> Void
    ) throws -> Int {
        try checkSendable(statement)
        try raiseServerLimit(for: deadline)
        return try operate(.copying, deadline: deadline) { handle in
            guard handle.sendQuery(statement.text, statement.parameters, binaryResult: false) else {
                throw lost(handle)
            }
            try flush(handle)
            guard let start = try nextResult(handle) else { throw lost(handle) }
            guard start.status == .copyIn else { throw try notACopy(start, handle, statement) }
            var writer = CopyWriter { bytes in try self.put(bytes, handle) }
            var thrown: (any Error)?
            do {
                try body(&writer)
                try writer.flush()
            } catch {
                thrown = error
            }
            try endCopyIn(handle, failing: thrown.map { _ in "stopped by the client" })
            let result = try nextResult(handle)
            let failed = result?.status == .fatalError ? result : nil
            let other = try drain(handle)
            // What the caller threw comes before the server's echo of it; an interruption is told by the server's answer.
            if let thrown, !(thrown is CopyInterrupted) { throw thrown }
            if let failed = failed ?? other { throw error(failed, handle, statement: statement.text) }
            return result?.affectedRows ?? 0
        }
    }

    /// Reads `copy … to stdout` and hands each row's bytes to a closure as it arrives, in constant memory.
    ///
    /// The bytes are a whole row in the format the statement asks for: a line of text with its line end, or a binary row, the first
    /// of which begins with the format's header. They are valid during the call only. The closure is synchronous and must not use
    /// the connection; when it throws, the statement is cancelled.
    ///
    /// - Returns: How many rows came out.
    /// - Throws: What `row` throws; ``PostgresError`` as any statement does.
    @discardableResult
    package func copyOut(
        _ statement: Statement,
        deadline: Duration? = nil,
        _ row: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int {
        try checkSendable(statement)
        try raiseServerLimit(for: deadline)
        return try operate(.copying, deadline: deadline) { handle in
            guard handle.sendQuery(statement.text, statement.parameters, binaryResult: false) else {
                throw lost(handle)
            }
            try flush(handle)
            guard let start = try nextResult(handle) else { throw lost(handle) }
            guard start.status == .copyOut else { throw try notACopy(start, handle, statement) }
            try readCopyOut(handle, row)
            let result = try nextResult(handle)
            let failed = result?.status == .fatalError ? result : nil
            if let failed = try drain(handle) ?? failed { throw error(failed, handle, statement: statement.text) }
            return result?.affectedRows ?? 0
        }
    }

    private func readCopyOut(_ handle: ConnectionHandle, _ row: (UnsafeRawBufferPointer) throws -> Void) throws {
        while true {
            let step: CopyOutStep
            do {
                step = try handle.takeCopyData(row)
            } catch {
                if operation.interruption == nil { try interrupt(handle, .abandonedByCaller) }
                try discardCopyOut(handle)
                _ = try drain(handle)
                throw error
            }
            switch step {
            case .data: continue
            case .end, .failed: return
            case .wait:
                try wait(handle, .read)
                // A failure shows in the last result.
                guard handle.consumeInput() else { return }
            }
        }
    }

    /// Sends one piece of COPY data.
    private func put(_ bytes: [UInt8], _ handle: ConnectionHandle) throws {
        while true {
            // A server that keeps up never makes the sender wait, so the limits are looked at here too.
            let verdict = operation.verdict(at: .now, taskIsCancelled: Task.isCancelled)
            if case .interrupt(let reason) = verdict { try interrupt(handle, reason) }
            if operation.interruption != nil { throw CopyInterrupted() }
            switch bytes.withUnsafeBytes({ handle.putCopyData($0) }) {
            case true?: return
            case false?:
                try wait(handle, [.read, .write])
                guard handle.consumeInput() else { throw lost(handle) }
            case nil: throw lost(handle)
            }
        }
    }

    private func notACopy(
        _ result: QueryResult,
        _ handle: ConnectionHandle,
        _ statement: Statement
    ) throws -> any Error {
        if result.status == .copyIn { try endCopyIn(handle, failing: "this call reads") }
        if result.status == .copyOut { try discardCopyOut(handle) }
        _ = try drain(handle)
        if result.status == .fatalError { return error(result, handle, statement: statement.text) }
        return PostgresError(
            .unexpectedResult,
            statement: statement.text,
            reason: "the statement does not copy in the direction of the call"
        )
    }
}

/// Ends the giving of data after an interruption; never leaves this module.
private struct CopyInterrupted: Error {}

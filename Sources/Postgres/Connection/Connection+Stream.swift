import LibPQ

extension Connection {
    /// Runs a query and passes each row to a closure as it arrives, in constant memory regardless of the number of
    /// rows.
    ///
    /// The closure is synchronous and must not use the connection: a call in it throws `connectionBusy`. If it throws,
    /// the query is cancelled and the connection stays usable.
    ///
    /// - Throws: As ``query(_:as:deadline:)``, possibly after rows were passed on; what `row` throws.
    package func stream<each Column: PostgresDecodable>(
        _ statement: Statement,
        as types: (repeat each Column).Type,
        deadline: Duration? = nil,
        _ row: (repeat each Column) throws -> Void
    ) throws {
        let reader = RowReader<repeat each Column>(statement: statement)
        try streamResults(statement, binaryResult: reader.readsBinary, deadline: deadline) { result in
            try reader.checkColumns(of: result)
            let values: (repeat each Column) = try reader.read(result, at: 0)
            try row(repeat each values)
        }
    }

    private func streamResults(
        _ statement: Statement,
        binaryResult: Bool,
        deadline: Duration?,
        _ row: (QueryResult) throws -> Void
    ) throws {
        try checkSendable(statement)
        try allowing(deadline) {
            try raiseServerLimit(for: deadline)
            try receiveRows(statement, binaryResult: binaryResult, deadline: deadline, row)
        }
    }

    private func receiveRows(
        _ statement: Statement,
        binaryResult: Bool,
        deadline: Duration?,
        _ row: (QueryResult) throws -> Void
    ) throws {
        try operate(.streaming, deadline: deadline) { handle in
            guard handle.sendQuery(statement.text, statement.parameters, binaryResult: binaryResult),
                handle.setSingleRowMode()
            else { throw lost(handle) }
            try flush(handle)
            var copies = false
            while let result = try nextResult(handle) {
                switch result.status {
                case .singleTuple:
                    do {
                        try row(result)
                    } catch {
                        try stopReading(handle)
                        throw error
                    }
                case .tuplesOK, .commandOK, .emptyQuery:
                    // The empty result after the rows, which an error may still follow.
                    break
                case .fatalError:
                    _ = try drain(handle)
                    throw error(result, handle, statement: statement.text)
                case .copyIn:
                    try endCopyIn(handle)
                    _ = try drain(handle)
                    throw unexpectedCopy(statement.text)
                case .copyOut, .copyBoth:
                    copies = true
                    try discardCopyOut(handle)
                case .other: break
                }
            }
            if copies { throw unexpectedCopy(statement.text) }
        }
    }

    /// Makes the server stop sending rows that are no longer wanted, and reads those under way.
    func stopReading(_ handle: ConnectionHandle) throws {
        if operation.interruption == nil { try interrupt(handle, .abandonedByCaller) }
        _ = try drain(handle)
    }
}

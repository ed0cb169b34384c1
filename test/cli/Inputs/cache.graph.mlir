// A buffer whose first row is replaced, and rows that are appended.
module attributes {graph.symbols = {n = {min = 1 : i64}}} {
  func.func @main(%past: !graph.tensor<[2, n, 4], f32> {graph.name = "past"}, %new: !graph.tensor<[2, 1, 4], f32> {graph.name = "new"},
                  %old: !graph.tensor<[2, n, 4], f32> {graph.name = "old"})
      -> (!graph.tensor<[2, n, 4], f32> {graph.name = "present"}, !graph.tensor<[2, "n + 1", 4], f32> {graph.name = "grown"},
          !graph.tensor<[2, n, 4], f32> {graph.name = "twice"}) {
    %row = graph.iota axis 1 : !graph.tensor<[2, n, 4], i64>
    %zero = graph.constant dense<0> : tensor<i64>
    %zeros = graph.broadcast %zero : !graph.tensor<[], i64> to !graph.tensor<[2, n, 4], i64>
    %is_new = graph.compare eq, %row, %zeros : !graph.tensor<[2, n, 4], i64>
    %news = graph.broadcast %new : !graph.tensor<[2, 1, 4], f32> to !graph.tensor<[2, n, 4], f32>
    %present = graph.select %is_new, %news, %past : !graph.tensor<[2, n, 4], i1>, !graph.tensor<[2, n, 4], f32>
    %grown = graph.concat %old, %new axis 1 : !graph.tensor<[2, n, 4], f32>, !graph.tensor<[2, 1, 4], f32>
    %twice = graph.add %old, %old : !graph.tensor<[2, n, 4], f32>
    return %present, %grown, %twice : !graph.tensor<[2, n, 4], f32>, !graph.tensor<[2, "n + 1", 4], f32>, !graph.tensor<[2, n, 4], f32>
  }
}

// The recurrent layers by their cells. What makes ops of them adds the documentation.
#pragma once

#include "ir/ops/_recurrent_steps.h"

namespace tcc::ir::ops {

RecurrentOp lstm_layer();  // gates in the order input, output, forget, cell
RecurrentOp gru_layer();   // update, reset, hidden
RecurrentOp rnn_layer();
RecurrentOp quantized_lstm_layer();

}  // namespace tcc::ir::ops

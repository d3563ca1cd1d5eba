"""Re-ranking with a cross-encoder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from tokenizers import processors
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertForSequenceClassification,
)

from spade_pyserini import Hit, Ranking, Topic, open_corpus, read_run, write_run
from spade_pyserini.baselines.rerank import rerank
from spade_pyserini.errors import ArtifactError, InputError, NotFoundError, UsageError
from spade_pyserini.models.cross_encoder import load_cross_encoder
from spade_pyserini.models.minilm import minilm_folder
from tests.commands import Commands

TOPICS = [Topic("q1", "old cat sleeps"), Topic("q2", "the dog eats a fish")]


def save_cross_encoder(backbone: Path, folder: Path, labels: int = 1) -> Path:
    """Save a BERT with a random head of ``labels`` outputs, and a tokenizer for pairs of texts."""
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    ends = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = AutoConfig.from_pretrained(backbone, num_labels=labels, initializer_range=0.5)
    model = BertForSequenceClassification(config)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def cross_encoder(tiny_backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_cross_encoder(tiny_backbone, tmp_path_factory.mktemp("cross") / "encoder")


@pytest.fixture(scope="session")
def documents(tiny_corpus: Path) -> dict[str, str]:
    return {document.docid: document.contents for document in open_corpus(str(tiny_corpus))}


@pytest.fixture
def first_stage(tmp_path: Path) -> Path:
    """A run of twenty-five hits for each of two topics."""
    hits = [Hit(f"d{number}", 50 - number) for number in range(25)]
    write_run([Ranking("q1", hits), Ranking("q2", hits)], tmp_path / "run.first.txt")
    (tmp_path / "topics.tsv").write_text("".join(f"{qid}\t{text}\n" for qid, text in TOPICS))
    return tmp_path / "run.first.txt"


def direct_scores(folder: Path, query: str, texts: list[str]) -> list[float]:
    """Return the scores that transformers computes, one pair at a time."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return [
            model(**tokenizer(query, text, return_tensors="pt")).logits.item() for text in texts
        ]


def test_the_order_is_the_cross_encoders(
    cross_encoder: Path, documents: dict[str, str], first_stage: Path
) -> None:
    run = read_run(first_stage)
    calls: list[int] = []
    score = load_cross_encoder(str(cross_encoder), batch_size=4)

    def counted(pairs: list[tuple[str, str]]) -> list[float]:
        calls.append(len(pairs))
        return list(score(pairs))

    reranked = rerank(run, TOPICS, documents, counted, [20, 10])
    assert list(reranked) == [10, 20]
    assert calls == [20, 20]  # each pair is scored once, although there are two depths
    for depth, rankings in reranked.items():
        assert [ranking.qid for ranking in rankings] == ["q1", "q2"]
        for topic, before, after in zip(TOPICS, run, rankings, strict=True):
            docids = [hit.docid for hit in before.hits]
            values = direct_scores(
                cross_encoder, topic.text, [documents[docid] for docid in docids[:depth]]
            )
            expected = sorted(zip(values, docids, strict=False), reverse=True)
            assert [hit.docid for hit in after.hits[:depth]] == [docid for _, docid in expected]
            assert [hit.score for hit in after.hits[:depth]] == pytest.approx(
                [value for value, _ in expected], abs=1e-4
            )
            assert [hit.docid for hit in after.hits[depth:]] == docids[depth:]
            falling = [hit.score for hit in after.hits]
            assert falling == sorted(falling, reverse=True)
            assert after.hits[depth].score < after.hits[depth - 1].score
        assert [hit.docid for hit in rankings[0].hits] != [hit.docid for hit in rankings[1].hits]


def test_pairs_of_the_same_score_keep_their_order() -> None:
    run = [Ranking("q1", [Hit("b", 3), Hit("a", 2), Hit("c", 1)]), Ranking("q2", [])]
    texts = {"a": "low", "b": "low", "c": "high"}
    reranked = rerank(
        run, TOPICS, texts, lambda pairs: [float(text == "high") for _, text in pairs]
    )
    assert [hit.docid for hit in reranked[100][0].hits] == ["c", "b", "a"]
    assert reranked[100][1] == Ranking("q2", [])


def test_ids_that_are_not_in_the_corpus_or_the_topics(documents: dict[str, str]) -> None:
    def score(pairs: list[tuple[str, str]]) -> list[float]:
        return [float("nan")] * len(pairs)

    run = [Ranking("q1", [Hit("d1", 3), Hit("gone1", 2), Hit("gone2", 1)])]
    with pytest.raises(
        NotFoundError, match=r"2 ids of the run are not in the corpus: gone1, gone2"
    ):
        rerank(run, TOPICS, documents, score, [10])
    with pytest.raises(NotFoundError, match="1 ids of the run are not in the topics: q9"):
        rerank([Ranking("q9", [])], TOPICS, documents, score)
    with pytest.raises(ArtifactError, match="a score of topic q1 is not finite"):
        rerank(run, TOPICS, documents, score, [1])  # documents below the depth are not needed


def test_models_that_cannot_rank(tiny_backbone: Path, cross_encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="'no-such/model' cannot be loaded: ") as error:
        load_cross_encoder("no-such/model")
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="is not a cross-encoder but a BertModel"):
        load_cross_encoder(str(minilm_folder()))
    with pytest.raises(UsageError, match="returns 3 values per pair"):
        load_cross_encoder(str(save_cross_encoder(tiny_backbone, tmp_path / "three", 3)))
    with pytest.raises(UsageError, match="max_length is 65, but the model reads at most 64"):
        load_cross_encoder(str(cross_encoder), max_length=65)
    damaged = shutil.copytree(cross_encoder, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(InputError, match="needs more weights than the model has"):
        load_cross_encoder(str(damaged))
    (damaged / "model.safetensors").unlink()
    torch.save({}, damaged / "pytorch_model.bin")  # a pickle, which could run code
    with pytest.raises(NotFoundError, match=r"damaged' cannot be loaded"):
        load_cross_encoder(str(damaged))


def test_max_length_cuts_the_text(cross_encoder: Path) -> None:
    short, long = "red bird", "red bird " + "house tree river " * 8
    full_scores = load_cross_encoder(str(cross_encoder))([("cat", short), ("cat", long)])
    cut = load_cross_encoder(str(cross_encoder), max_length=6)([("cat", short), ("cat", long)])
    assert full_scores[0] != pytest.approx(full_scores[1], abs=1e-3)
    assert cut[0] == pytest.approx(cut[1], abs=1e-5)


def test_the_command_and_its_table(
    cross_encoder: Path,
    documents: dict[str, str],
    tiny_corpus: Path,
    first_stage: Path,
    run: Commands,
) -> None:
    folder = first_stage.parent
    score = load_cross_encoder(str(cross_encoder))
    expected = rerank(read_run(first_stage), TOPICS, documents, score, [10, 20])
    best = expected[10][0].hits[0].docid
    (folder / "qrels.txt").write_text(f"q1 0 {best} 1\nq2 0 d1 0\n")
    arguments: list[object] = ["--run", first_stage, "--topics", folder / "topics.tsv"]
    arguments += ["--corpus", tiny_corpus, "--model", cross_encoder, "--depth", 20, 10]
    result = run("rerank", *arguments, "--qrels", folder / "qrels.txt")
    assert result.code == 0
    outputs = [folder / f"run.first.rerank-{depth}.txt" for depth in (10, 20)]
    lines = result.out.splitlines()
    assert lines[:2] == list(map(str, outputs))
    assert lines[2].split() == ["run", "MRR@10"]
    values = {line.rsplit(maxsplit=1)[0]: line.split()[-1] for line in lines[4:7]}
    rank = 1 + int(best.removeprefix("d"))
    assert list(values) == ["first stage", "rerank-10", "rerank-20"]
    assert values["first stage"] == f"{1 / rank / 2:.4f}"
    assert values["rerank-10"] == "0.5000"
    assert "2 judged topics" in lines[7]
    for depth, output in zip((10, 20), outputs, strict=True):
        written = [[hit.docid for hit in ranking.hits] for ranking in read_run(output)]
        assert written == [[hit.docid for hit in ranking.hits] for ranking in expected[depth]]
    result = run("rerank", *arguments)
    assert result.code == 1
    assert "rerank-20.txt exists already" in result.err
    assert run("rerank", *arguments, "--output-prefix", folder / "deep" / "x").code == 0
    assert (folder / "deep" / "x.rerank-20.txt").read_bytes() == outputs[1].read_bytes()


def test_bad_calls_of_the_command(
    cross_encoder: Path, tiny_corpus: Path, first_stage: Path, run: Commands
) -> None:
    folder = first_stage.parent
    (folder / "qrels.txt").write_text("other 0 d1 1\n")
    (folder / "empty.txt").write_text("")
    usual = {
        "--run": first_stage,
        "--topics": folder / "topics.tsv",
        "--corpus": tiny_corpus,
        "--model": cross_encoder,
    }
    for changed, message in (
        ({"--qrels": folder / "qrels.txt"}, "no topic in common"),
        ({"--run": folder / "empty.txt"}, "the run is empty"),
        ({"--model": folder}, "cannot be loaded"),
        ({"--corpus": "nowhere"}, "no corpus, folder or file is called 'nowhere'"),
    ):
        call = {**usual, **changed}
        result = run("rerank", *(part for flag in call.items() for part in flag))
        assert result.code == 1
        assert message in result.err
        assert not list(folder.glob("*.rerank-*"))
